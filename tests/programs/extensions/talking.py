"""Uses the server: other tools, progress, the log, configuration and secrets."""

import ot_sdk

secrets = ("WEATHER_KEY", "UNSET_KEY")

_AT_IMPORT = dict(ot_sdk.config())


def shout(*, tool: str, text: str) -> str:
    return ot_sdk.call(tool, text=text)


async def shout_later(*, tool: str, text: str) -> str:
    return await ot_sdk.call(tool, text=text)


def named(*, tool: str, name: str) -> str:
    return ot_sdk.call(tool, name=name)


def give_up(*, tool: str, text: str) -> str:
    try:
        return ot_sdk.call(tool, text=text)
    except ot_sdk.ToolError as error:
        raise ot_sdk.ToolError(f"told: {error}") from error


def pass_on(*, value: object) -> object:
    return ot_sdk.call("host.take", value=value)


def count(*, to: int) -> int:
    for n in range(to):
        ot_sdk.progress(n + 1, to, f"step {n + 1}")
    return to


def configured() -> list:
    return [_AT_IMPORT, dict(ot_sdk.config())]


def secret(*, name: str) -> str:
    return ot_sdk.secret(name)


def say(*, text: str) -> None:
    ot_sdk.log.warning("it says %s", text)
