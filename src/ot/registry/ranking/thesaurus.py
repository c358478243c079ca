"""Words that stand for one another where people talk to computers.

General vocabulary only, one group a line; a word may stand in several. Names of products and of single tools have no
place here: they would fit one set of tools and mislead in another.
"""

from __future__ import annotations

from collections.abc import Mapping

from ot.registry.ranking.words import stem

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


SYNONYMS = _synonyms()
"""Stems, and the stems of the words that may be meant by each."""

READING = frozenset(map(stem, _READING.split()))
"""Stems of what one asks for to know something."""

CHANGING = frozenset(map(stem, _CHANGING.split()))
"""Stems of what one asks for to have something changed; a tool that is named by one of them changes something."""

ACTIONS = frozenset().union(*_read(_ACTIONS))
"""Stems of what one can ask a tool to do; behind an `and` they begin another request."""
