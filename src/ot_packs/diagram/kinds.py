"""The kinds of Mermaid diagrams, each with its smallest useful example."""

from __future__ import annotations

_EXAMPLES = """
flowchart LR
  A[Start] --> B{Choice}
  B -->|yes| C[Done]
---
sequenceDiagram
  Ann->>Bob: Hello
  Bob-->>Ann: Hi
---
classDiagram
  Animal <|-- Dog
  Animal : +int age
  Dog : +bark()
---
stateDiagram-v2
  [*] --> Idle
  Idle --> Busy: work
  Busy --> [*]
---
erDiagram
  CUSTOMER ||--o{ ORDER : places
  ORDER {
    int id PK
    string note
  }
---
gantt
  dateFormat YYYY-MM-DD
  section Build
  Design :a, 2026-01-01, 5d
  Code :after a, 10d
---
pie title Pets
  "Dogs" : 40
  "Cats" : 60
---
journey
  title A day
  section Morning
    Coffee: 5: Ann
    Mail: 2: Ann, Bob
---
gitGraph
  commit
  branch work
  commit
  checkout main
  merge work
---
mindmap
  root((Ideas))
    First
    Second
---
timeline
  title History
  2024 : First
  2025 : Second
---
quadrantChart
  x-axis Low --> High
  y-axis Slow --> Fast
  A: [0.3, 0.6]
---
requirementDiagram
  requirement speed {
    id: 1
    text: fast
    risk: low
    verifymethod: test
  }
---
C4Context
  Person(a, "Person")
  System(b, "System")
  Rel(a, b, "uses")
---
xychart-beta
  x-axis [jan, feb, mar]
  y-axis "Sales" 0 --> 10
  bar [3, 7, 5]
---
sankey-beta

Wind,Power,10
Sun,Power,20
---
block-beta
  columns 2
  a b
  c:2
---
packet-beta
  0-15: "Source"
  16-31: "Target"
---
architecture-beta
  group api(cloud)[API]
  service db(database)[Data] in api
  service app(server)[App] in api
  db:L -- R:app
---
kanban
  todo[To do]
    a[First]
  done[Done]
    b[Second]
---
radar-beta
  axis a["A"], b["B"], c["C"]
  curve x["X"]{3, 4, 5}
---
treemap-beta
  "All"
    "One": 10
    "Two": 20
"""

EXAMPLES = {example.split(maxsplit=1)[0]: example for example in _EXAMPLES.strip().split("\n---\n")}
