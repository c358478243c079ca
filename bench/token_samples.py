"""Content of every kind that tools take and give, to measure estimates against: real text where there is some."""

from __future__ import annotations

import base64
import hashlib
import json
import pydoc_data.topics
import random
import re
import sysconfig
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_LENGTH = 6000  # characters

# The same paragraph in languages that are written with other letters.
_ALPHABETS = (
    "Статистика считает каждый вызов и каждый ответ. Сколько стоил бы ответ, оценивается по числу байтов.",
    "Η στατιστική μετρά κάθε κλήση και κάθε απάντηση. Το κόστος μιας απάντησης εκτιμάται από τον αριθμό των byte.",
    "تسجل الإحصاءات كل استدعاء وكل إجابة. وتُقدَّر كلفة الإجابة من عدد البايتات ونوع المحتوى.",
    "सांख्यिकी हर कॉल और हर उत्तर को गिनती है। किसी उत्तर की लागत का अनुमान बाइटों की संख्या से लगाया जाता है।",
)
_CJK = (
    "统计模块记录每一次调用和每一个回答。一个回答会花费多少，是根据字节数和内容的种类来估算的。",
    "統計は、すべての呼び出しとすべての応答を記録します。応答の費用は、バイト数と内容の種類から推定されます。",
    "통계는 모든 호출과 모든 응답을 기록합니다. 응답에 들었을 비용은 바이트 수와 내용의 종류로 추정합니다.",
)
_LATIN = (
    "Die Statistik zählt jeden Aufruf und jede Antwort. Was eine Antwort gekostet hätte, wird geschätzt.",
    "La statistique compte chaque appel et chaque réponse. Ce qu'une réponse aurait coûté est estimé.",
)


def samples(definitions: list[dict[str, Any]]) -> Mapping[str, list[Any]]:
    """Values by the kind of their content; `definitions` are those of the tools there are."""
    chance = random.Random(7)
    words = re.findall("[a-z]{3,}", " ".join(pydoc_data.topics.topics.values()))
    return {
        "prose": [*_pieces(pydoc_data.topics.topics.values()), *_pieces(_read("docs/*.md")), *_LATIN],
        "code": list(_pieces(_library())),
        "data": [*_records(chance, words), *_small_objects(chance, words), _lock_file()],
        "numbers": list(_numbers(chance)),
        "opaque": list(_opaque(chance)),
        "alphabet": list(_ALPHABETS),
        "cjk": list(_CJK),
        "definition": definitions,
    }


def _pieces(texts: Any) -> Iterator[str]:
    return (text[:_LENGTH] for text in texts if len(text) > 200)


def _read(pattern: str) -> Iterator[str]:
    return (file.read_text() for file in sorted(ROOT.glob(pattern)))


def _library() -> Iterator[str]:
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::5]:
        yield file.read_text(errors="replace")[2000:]


def _lock_file() -> Any:
    return json.loads((ROOT / "tests" / "conformance" / "package-lock.json").read_text())["packages"]


def _records(chance: random.Random, words: list[str]) -> Iterator[list[dict[str, Any]]]:
    for _ in range(20):
        yield [
            {
                "id": chance.randrange(10**6),
                "name": " ".join(chance.choices(words, k=2)),
                "active": chance.random() < 0.5,
                "score": round(chance.random() * 100, 2),
                "tags": chance.choices(words, k=2),
                "created_at": f"2026-0{chance.randrange(1, 9)}-1{chance.randrange(9)}T08:11:{chance.randrange(60)}Z",
                "url": f"https://{chance.choice(words)}.com/{chance.choice(words)}/{chance.randrange(9999)}",
            }
            for _ in range(20)
        ]


def _small_objects(chance: random.Random, words: list[str]) -> Iterator[dict[str, Any]]:
    for _ in range(20):
        yield {"ok": True, "count": chance.randrange(100), "items": chance.choices(words, k=5)}


def _numbers(chance: random.Random) -> Iterator[list[float]]:
    for _ in range(5):
        yield [chance.random() for _ in range(100)]
        yield [chance.randrange(10**6) for _ in range(100)]
        yield [round(chance.random() * 100, 2) for _ in range(100)]


def _opaque(chance: random.Random) -> Iterator[Any]:
    for _ in range(5):
        yield base64.b64encode(chance.randbytes(3000)).decode()
        yield [hashlib.sha256(chance.randbytes(9)).hexdigest() for _ in range(20)]
        yield [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(50)]
