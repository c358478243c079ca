"""Text as words that can be compared: lower case, names taken apart, endings cut off, empty words left out.

Synonyms are general vocabulary only, one group a line; a word may stand in several. Names of products and of single
tools have no place there: they would fit one set of tools and mislead in another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain

_WORD = re.compile(r"[^\W_]+")
_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_A-Za-z\d]+")
# Scripts that put no spaces between words; two neighbours at a time stand for a word.
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}")
_VOWEL = re.compile("[aeiouy]")
_PARTICIPLES = ("ing", "ed", "ion")
_LONGEST = 60  # characters; what is longer is data, not a word

_EMPTY = """
    a an the of to in on at by for from with without as is are was were be been being am it its this that these those
    and or not but if so than then there here i me my mine we us our ours you your yours he she him her they them their
    what which who whom whose how when where why do does did done have has had having can could may might must shall
    should will would all any each every some more most other another such only own same too very just also about into
    onto over under up out off again once both few no nor yes please want wants need needs like give gives tell let make
    makes sure using use uses used via per etc eg ie one within between through during before after while because until
"""
STOP_WORDS = frozenset(_EMPTY.split())


class Stems(dict[str, tuple[str, ...]]):
    """The stems of every word that was met, for whoever reads many texts: few of their words are new."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = self[word] = _take_apart(word)
        return found

    def read(self, text: str) -> list[str]:
        """Return what `read_words` does."""
        return list(chain.from_iterable(map(self.__getitem__, _split(text))))


def read_words(text: str) -> list[str]:
    """The stems of a text's words in order; a name such as `listOpenIssues` counts whole and in its parts."""
    return list(chain.from_iterable(map(_stems, _split(text))))


def _split(text: str) -> list[str]:
    return text.translate(_GAPS).split() if text.isascii() else _WORD.findall(text)  # the former in a tenth of the time


def _take_apart(word: str) -> tuple[str, ...]:
    if len(word) > _LONGEST:
        return ()
    whole = word.lower()
    if word.isascii() and word[1:].islower() and word.isalpha():  # most words: there is nothing to take apart
        return () if whole in STOP_WORDS else (stem(whole),)
    if _UNSPACED.fullmatch(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    parts = [part.lower() for part in _PART.findall(word)]
    words = [whole, *(part for part in parts if len(part) > 1)] if len(parts) > 1 else [whole]
    return tuple(stem(each) for each in words if each not in STOP_WORDS)


_stems = lru_cache(maxsize=20_000)(_take_apart)


def stem(word: str) -> str:
    """A word without the endings of plural, tense and verbal noun, so that `files`, `filed` and `filing` are one."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    word = _without_participle(_singular(word))
    if word.endswith("e") and len(word) > 3:
        return word[:-1]
    if word.endswith("y") and len(word) > 3 and not _VOWEL.match(word[-2]):
        return f"{word[:-1]}i"
    return word


def _singular(word: str) -> str:
    if word[-1] != "s":
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _without_participle(word: str) -> str:
    if not word.endswith(_PARTICIPLES):
        return word
    for ending in _PARTICIPLES:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest) and (ending != "ion" or rest[-1] in "st"):
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
    return word


_ACTIONS = """
    get fetch retrieve obtain read load receive
    download fetch pull
    find search locate lookup look query discover seek
    list enumerate browse show
    show display view print present
    create new add generate produce build
    add insert append attach include
    update modify edit change alter revise adjust patch set
    write save store persist record put
    delete remove erase drop destroy discard clear purge
    move rename relocate transfer
    copy duplicate clone replicate
    send post deliver dispatch submit
    publish post share release
    upload put push import
    export download dump save
    start begin launch open run
    stop end cancel abort terminate close halt
    run execute invoke call perform
    check verify validate test inspect
    convert translate transform change
    compare diff difference differ
    describe explain summarize detail
    count number total
    calculate compute evaluate solve
    extract parse scrape crawl
    analyze analyse examine inspect review
    merge combine join concatenate
    connect link associate relate
    subscribe follow watch monitor
    invite add
    approve accept confirm
    reject decline deny refuse
    schedule plan book arrange
    buy purchase order
    replace substitute swap
    filter select choose pick
    sort order rank
    undo revert restore reset rollback
    enable activate
    disable deactivate
    lock protect
    encode encrypt
    decode decrypt
    turn switch toggle
"""
_THINGS = """
    folder directory dir
    file document doc
    picture image photo screenshot
    movie video film clip
    sound audio music song track
    mail email inbox
    message comment note text
    person people user contact member
    company organization organisation business firm
    repository repo
    web internet online website site url
    page webpage
    link url address
    link relation relationship edge connection
    database db sql
    table sheet spreadsheet
    row record entry
    column field
    info information detail metadata
    size length large big
    time timestamp clock date
    history log past
    meeting appointment event
    task todo issue ticket
    error exception bug failure problem
    setting configuration config option preference
    permission access right allowed
    key secret token credential password
    login sign authenticate auth
    account profile user
    group team
    tag label category
    price cost rate
    money currency payment
    stock share
    city town location place
    location place address position
    route direction path
    trip travel journey
    flight plane airline
    hotel accommodation lodging
    food meal dish recipe
    product item goods
    news article headline story
    paper article study research publication science scientific academic literature
    latest recent new newest current
    popular top trending best
    job position vacancy career
    language locale
    template pattern
    function method procedure
    code source program script
    command cmd shell terminal
    environment env
    variable parameter argument
    test check
    chart graph plot diagram
    weather forecast temperature
    statistic stat metric analytics
    phone mobile telephone
    library package module dependency
    version release revision
    light lamp bulb
    warm warmer hot hotter heat thermostat temperature
    cold colder cool cooler thermostat temperature
    bright brighter dark darker dim dimmer
    blind shade shutter curtain
"""
_READING = """
    get fetch retrieve read load find search locate lookup look query discover list enumerate browse show display view
    print describe explain count inspect examine check compare watch see
"""
_CHANGING = """
    create add insert append attach update modify edit change alter adjust patch set write save store put delete remove
    erase drop destroy discard clear purge empty move rename copy duplicate clone send post submit publish share upload
    push import start launch run execute stop cancel abort terminate close merge invite approve accept reject schedule
    book buy purchase order pay replace undo revert restore reset enable activate disable deactivate lock unlock mark
    assign archive commit reply forward turn switch toggle dim
"""


def _read(groups: str) -> list[frozenset[str]]:
    return [frozenset(map(stem, line.split())) for line in groups.strip().splitlines()]


def _synonyms() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in (*_read(_ACTIONS), *_read(_THINGS)):
        for word in group:
            found[word] = (found.get(word, frozenset()) | group) - {word}
    return found


SYNONYMS = _synonyms()  # stems, and the stems of the words that may be meant by each
READING = frozenset(map(stem, _READING.split()))  # stems of what one asks for to know something
CHANGING = frozenset(map(stem, _CHANGING.split()))
"""Stems of what one asks for to have something changed; a tool that is named by one of them changes something."""

ACTIONS = frozenset().union(*_read(_ACTIONS))
"""Stems of what one can ask a tool to do; behind an `and` they begin another request."""
