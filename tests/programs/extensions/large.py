"""Large values in both directions."""


def text(*, size: int) -> str:
    return "x" * size


def measure(*, text: str) -> int:
    return len(text)


def rows(*, count: int) -> list:
    return [{"row": n} for n in range(count)]
