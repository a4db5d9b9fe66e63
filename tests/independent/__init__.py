"""What tests compare optsched with: written from the definitions, and independent of it.

| module | what it is | written from |
|---|---|---|
| `oasis` | tiny instances; optimum by trying every number of workers and every packing | (1)-(13) |
| `oasis_certificate` | its bound, every schedule enumerated | docs/optimum/oasis.md |
| `dmlrs` | tiny instances; all placements of a job; optimum by trying all of them | docs/dmlrs.md |
| `completion` | tiny instances; optimum by brute force; the best order on one server | (2), (7) |
| `bipartite` | tiny instances; optimum by cutting planes, and in 60 decimals | (4)-(12), (60) |
| `bot` | tiny trees; fair optimum by linear programs, and in closed form | (10) |
| `declared` | small models; optimum by enumeration and linear programs | the model |
| `cutting_planes` | concave maximization, enclosed from both sides | Kelley (1960) |
| `conic` | reads the Conic Benchmark Format and solves it with Clarabel | the format |
| `cases` | tiny instances of all families in other units, and their optima | the modules above |
| `reference` | loads tests/data: instances, and answers of programs outside this repository | |

Of optsched, they import the classes of instances, schedules and certificates, and the numbers and
names that these consist of: no oracle, no kernel, no optimum, no judge. tests/test_imports.py
asserts it.
"""
