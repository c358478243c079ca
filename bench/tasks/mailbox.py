"""Tasks on a mailbox: the mcp-email-server from PyPI, on an IMAP server from PyPI with forty mails."""

from __future__ import annotations

import imaplib
import json
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

from bench.tasks.installed import python_program
from bench.tasks.task import HOME, DirectCalls, Runs, Task
from tests.ports import find_free_port
from tests.reference_servers.servers import ServerCommand, wait_until_open

_PASSWORD = "not a secret"  # of a mailbox that exists while this runs
_ACCOUNT = "default"
# It would hash the password half a million times at each login, and the mail server logs in for every mail it reads.
_IMAP_SERVER = """
from pymap.main import main
from pysasl.hashing import BuiltinHash
BuiltinHash.__init__.__kwdefaults__["rounds"] = 1
main()
"""

_SUPPLIERS = ("Nordlicht Energie", "Papier Huber", "Cloudwerk", "Büro Lehmann")
_COMPANIES = ("Alpenbank", "Cargo Nova", "Helvetia Labs", "Studio Ferri", "Wasserwerk Linz")
_DIETS = ("none", "vegetarian", "vegan", "no gluten")
_PEOPLE = tuple(
    f"{first} {last}"
    for first, last in zip(
        ("Anna", "Ben", "Carla", "Dino", "Eva", "Fritz", "Gina", "Hans", "Ida", "Jan", "Kim", "Leo", "Mia", "Nils"),
        (
            "Aigner",
            "Bauer",
            "Conti",
            "Dietz",
            "Egger",
            "Fuchs",
            "Gruber",
            "Horn",
            "Illy",
            "Jung",
            "Kern",
            "Lang",
            "Mayr",
            "Nowak",
        ),
        strict=True,
    )
)
_FOOTER = (
    "This message is meant for the person it is addressed to. If you got it by mistake, please tell us and delete it. "
    "We keep what you send us for as long as the law asks for; our privacy notice is on our pages."
)


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    subject: str
    body: str


def _make_invoices() -> list[tuple[str, int]]:
    """For each invoice its sender and the amount in cents."""
    chance = random.Random(4)
    return [(chance.choice(_SUPPLIERS), chance.randrange(2_000, 90_000)) for _ in range(14)]


def _make_registrations() -> list[tuple[str, str, str]]:
    chance = random.Random(5)
    return [(person, chance.choice(_COMPANIES), chance.choice(_DIETS)) for person in _PEOPLE]


_INVOICES = _make_invoices()
_REGISTRATIONS = _make_registrations()


def _mails() -> list[Mail]:
    mails = [
        Mail(
            supplier,
            f"Invoice {4100 + number} for October",
            f"Dear Ada,\n\nplease find below what we delivered in October.\n\nInvoice number: {4100 + number}\n"
            f"Net: {cents / 1.2 / 100:.2f} EUR\nVAT 20 %: {(cents - cents / 1.2) / 100:.2f} EUR\n"
            f"Total: {cents / 100:.2f} EUR\nPayable within 14 days.\n\n{_FOOTER}",
        )
        for number, (supplier, cents) in enumerate(_INVOICES)
    ]
    mails += [
        Mail(
            person,
            "Registration for the workshop",
            f"Hello Ada,\n\nI would like to come to the workshop.\n\n"
            f"Name: {person}\nCompany: {company}\nDiet: {diet}\n\n"
            f"Is there a place to park?\n\nBest wishes\n{person}\n\n{_FOOTER}",
        )
        for person, company, diet in _REGISTRATIONS
    ]
    mails += [
        Mail("Newsletter", f"Shop weekly, issue {number}", f"What is new this week: nothing but offers.\n\n{_FOOTER}")
        for number in range(12)
    ]
    random.Random(6).shuffle(mails)
    return mails


@contextmanager
def open_mailbox(folder: Path) -> Iterator[ServerCommand]:
    port = find_free_port()
    command = [
        str(python_program("python")),
        "-c",
        _IMAP_SERVER,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-tls",
    ]
    command += ["dict", "--demo-user", "ada", "--demo-password", _PASSWORD]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as imap:
        try:
            wait_until_open(port, imap)
            _deliver(port)
            yield _mail_server(folder, port)
        finally:
            imap.kill()


def _deliver(port: int) -> None:
    with imaplib.IMAP4("127.0.0.1", port) as mailbox:
        mailbox.login("ada", _PASSWORD)
        for number, mail in enumerate(_mails()):
            message = EmailMessage()
            message["From"] = f"{mail.sender} <{re.sub('[^a-z]', '', mail.sender.lower())}@example.com>"
            message["To"] = "Ada <ada@example.com>"
            message["Subject"] = mail.subject
            received = datetime(2026, 11, 3, number // 6, number % 6 * 10, tzinfo=UTC)
            message["Date"] = received
            message["Message-ID"] = f"<{number:04}@example.com>"
            message.set_content(mail.body)
            mailbox.append("INBOX", "", imaplib.Time2Internaldate(received), message.as_bytes())


def _mail_server(folder: Path, port: int) -> ServerCommand:
    settings = {
        "EMAIL_ADDRESS": "ada@example.com",
        "USER_NAME": "ada",
        "PASSWORD": _PASSWORD,
        "IMAP_HOST": "127.0.0.1",
        "IMAP_PORT": str(port),
        "IMAP_SSL": "false",
        "SMTP_HOST": "127.0.0.1",
        "CREDENTIAL_STORAGE": "plaintext",
    }
    variables = {
        "HOME": str(folder),
        "PATH": "",
        **{f"MCP_EMAIL_SERVER_{name}": value for name, value in settings.items()},
    }
    return ServerCommand(str(python_program("mcp-email-server")), ("stdio",), variables)


def _sum_up(mails: list[tuple[str, float]]) -> str:
    sums: dict[str, float] = defaultdict(float)
    for sender, amount in mails:
        sums[sender] += amount
    return ", ".join(f"{sender} {amount:.2f}" for sender, amount in sorted(sums.items()))


async def _read_directly(servers: DirectCalls, subject: str) -> list[dict[str, str]]:
    """The mails with a subject, as a model gets at them: whose mailbox, which mails, what is in them."""
    await servers.call(("mail", "list_available_accounts", {}))
    which = {"account_name": _ACCOUNT, "subject": subject, "page_size": 100}
    [listed] = await servers.call(("mail", "list_emails_metadata", which))
    numbers = [mail["email_id"] for mail in json.loads(listed)["emails"]]
    [text] = await servers.call(("mail", "get_emails_content", {"account_name": _ACCOUNT, "email_ids": numbers}))
    mails: list[dict[str, str]] = json.loads(text)["emails"]
    return mails


async def _invoices_directly(servers: DirectCalls) -> str:
    mails = await _read_directly(servers, "Invoice")
    totals = [(mail["sender"].partition(" <")[0], re.findall(r"Total: ([\d.]+)", mail["body"])) for mail in mails]
    return _sum_up([(sender, float(amount)) for sender, [amount] in totals])


async def _invoices_through_run(onetool: Runs) -> str:
    await onetool.run(
        """print(ot.help(query="find emails by subject and get their content"))
ot.tools(pattern="mail.list")"""
    )
    await onetool.fail('mail.list_emails_metadata(subject="Invoice")')
    await onetool.run("mail.list_available_accounts()")
    return await onetool.run(
        r"""import re
from collections import defaultdict
listed = mail.list_emails_metadata(account_name="default", subject="Invoice", page_size=100)
found = mail.get_emails_content(account_name="default", email_ids=[m["email_id"] for m in listed["emails"]])
sums = defaultdict(float)
for m in found["emails"]:
    sums[m["sender"].partition(" <")[0]] += float(re.findall(r"Total: ([\d.]+)", m["body"])[0])
", ".join(f"{sender} {amount:.2f}" for sender, amount in sorted(sums.items()))"""
    )


def _as_csv(rows: list[tuple[str, ...]]) -> str:
    return "".join(",".join(row) + "\n" for row in [("name", "company", "diet"), *sorted(rows)])


_FIELDS = r"(?s)Name: ([^\r\n]*).*Company: ([^\r\n]*).*Diet: ([^\r\n]*)"


async def _registrations_directly(servers: DirectCalls) -> str:
    mails = await _read_directly(servers, "Registration")
    rows = [re.findall(_FIELDS, mail["body"])[0] for mail in mails]
    await servers.call(("filesystem", "write_file", {"path": f"{HOME}/registrations.csv", "content": _as_csv(rows)}))
    return f"{len(rows)} people are registered"


async def _registrations_through_run(onetool: Runs) -> str:
    await onetool.run(
        """print(ot.help(query="find emails by subject and get their content"))
ot.tools(pattern="mail.list") + ot.tools(pattern="filesystem.write")"""
    )
    await onetool.fail('mail.list_emails_metadata(subject="Registration")')
    await onetool.run(
        """print(mail.list_available_accounts())
listed = mail.list_emails_metadata(account_name="default", subject="Registration", page_size=1)
mail.get_emails_content(account_name="default", email_ids=[listed["emails"][0]["email_id"]])"""
    )
    return await onetool.run(
        rf"""import re
listed = mail.list_emails_metadata(account_name="default", subject="Registration", page_size=100)
found = mail.get_emails_content(account_name="default", email_ids=[m["email_id"] for m in listed["emails"]])
rows = [re.findall(r"{_FIELDS}", m["body"])[0] for m in found["emails"]]
text = "".join(",".join(row) + "\n" for row in [("name", "company", "diet"), *sorted(rows)])
filesystem.write_file("{HOME}/registrations.csv", text)
f'{{len(rows)}} people are registered'"""
    )


TASKS = (
    Task(
        name="mailbox: invoices by supplier",
        question="Add up the invoices for October in my mailbox, by supplier.",
        servers=("mail",),
        expected=_sum_up([(supplier, cents / 100) for supplier, cents in _INVOICES]),
        direct=_invoices_directly,
        through_run=_invoices_through_run,
    ),
    Task(
        name="mailbox and files: registrations as a table",
        question="Put everybody who registered for the workshop by mail into "
        f"{HOME}/registrations.csv (name, company, diet), sorted. How many are they?",
        servers=("mail", "filesystem"),
        expected=f"{len(_REGISTRATIONS)} people are registered",
        direct=_registrations_directly,
        through_run=_registrations_through_run,
        left=lambda folder: (folder / "registrations.csv").read_text(),
        expected_left=_as_csv([*_REGISTRATIONS]),
    ),
)
