"""How noisy the prepared sets are, measured; and noise put in on purpose, in known amounts.

`measure` streams the prepared tables once and returns one plain mapping (stable JSON): lengths, documents per query and
irrelevant share per set and split, near-duplicate, empty and truncated documents, contradicting golds, label noise,
encoding and language faults, strings that look personal, leakage between training and evaluation data. `table` and
`plots` show it. `controlled` adds distractors or drops documents until a question has a wanted irrelevant share.

Memory per document is a few dozen bytes (`tables.document_index`); everything larger waits in scratch files (`spool`).
"""
