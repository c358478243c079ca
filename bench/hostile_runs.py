"""Runs that try to keep the server from everybody else, by what they write to its socket or ask of it."""

from __future__ import annotations

FORGE = """
import json, os, struct, sys, threading, time
component = sys.platform == 'wasi'
if component:
    import wit_world
def send(payload):
    if component:
        wit_world.tell(payload.decode('latin-1'))
        return
    view = memoryview(struct.pack('!I', len(payload)) + payload)
    while view:
        view = view[os.write(4, view):]
def forge(**message):
    send(json.dumps(message).encode())
def forge_file(name, text):
    with open(name, 'w') as file:
        file.write(text)
    forge(op='file', name=name)
def read():
    while True:
        os.read(4, 2**20)
def repeat(*, heard=False, **message):
    payload = json.dumps(message).encode()
    while True:
        send(payload)
        if component and heard:
            wit_world.hear()
def repeat_and_read(**message):
    if not component:
        threading.Thread(target=read).start()
    repeat(heard=True, **message)
number = {'$': 'fraction', 'v': ['0x' + '7' * 450_000, '0x' + '3' * 450_001]}
"""

HOSTILE = {
    "a number of millions of bits": "forge(op='value', value=number)",
    "such a number in a call": "forge(op='call', id=1, tool='demo.foo', args=[number], kwargs={})\ntime.sleep(9)",
    "numbers of 20 million bits in a file": (
        "n = '0x' + '7' * 5_000_000\n"
        "forge_file('.message-1', json.dumps({'op': 'value', 'value': {'$': 'fraction', 'v': [n + '1', n]}}))"
    ),
    "names of 900 kB": ("repeat_and_read(op='attribute', id=1, pack='demo', name='n' * 900_000)"),
    "names that nobody has": ("repeat_and_read(op='attribute', id=1, pack='demo', name='nobody' * 30)"),
    "names that nobody has, and answers that nobody reads": (
        "repeat(op='attribute', id=1, pack='demo', name='nobody' * 30)"
    ),
    "calls with many small values": (
        "repeat_and_read(op='call', id=1, tool='demo.foo', args=[[[]] * 200_000], kwargs={})"
    ),
    "a file with millions of values": (
        "forge_file('.message-1', '{\"op\": \"value\", \"value\": [' + '[],' * 5_000_000 + '[]]}')\ntime.sleep(9)"
    ),
    "a file of integers that take long to read": (
        "forge_file('.message-1', '{\"op\": \"value\", \"value\": [' + ('7' * 4_300 + ',') * 3_800 + '7]}')"
    ),
    "a file of half a million names": (
        "names = ','.join(['\"%d\":\"\"' % n for n in range(499_000)])\n"
        "forge_file('.message-1', '{\"op\": \"value\", \"value\": {' + names + '}}')\ntime.sleep(9)"
    ),
    "a file of half a million long numbers": (
        "forge_file('.message-1', '{\"op\": \"value\", \"value\": [' + f'1.{\"3\" * 28},' * 499_000 + '7]}')"
    ),
    "calls without end": ("repeat_and_read(op='call', id=1, tool='demo.sleep', args=[], kwargs={'seconds': 5})"),
    "references without end": (
        "one = {'pack': 'demo', 'tool': 'nobody', 'keywords': [], 'positional': 0, 'open': False, 'line': 1}\n"
        "forge(op='references', references=[{**one, 'tool': f'nobody{n}'} for n in range(9_000)])\ntime.sleep(9)"
    ),
    "arguments without end": (
        "one = {'pack': 'demo', 'tool': 'foo', 'positional': 0, 'open': False, 'line': 1}\n"
        "forge(op='references', references=[{**one, 'keywords': ['a'] * 200_000}])\ntime.sleep(9)"
    ),
    "tuples that share a hash": (
        "zeros = [0] * 1_000\nlast = [{'$': 'int', 'v': hex(5 + n * (2**61 - 1))} for n in range(900)]\n"
        "value = {'$': 'set', 'v': [{'$': 'tuple', 'v': zeros + [one]} for one in last]}\n"
        "forge_file('.message-1', json.dumps({'op': 'value', 'value': value}))"
    ),
    "output without end": "while True: print('x' * 10_000)",
    "files without end": "n = 0\nwhile True:\n    n += 1\n    open(str(n), 'w').close()",
}
