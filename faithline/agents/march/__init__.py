"""The roles of MARCH (arXiv 2603.24579): Solver, Proposer, Checker, as prompts and parsers; pure functions.

One sample: the Solver answers a query from documents; the Proposer asks one question for every number of the response;
the Checker answers these questions from the documents alone, unable to see what it checks (`blinding`). Documents and
query travel as fields and are never parsed back out of a prompt. Every text that a model writes is mapped to one
`Outcome`. What the outcomes are worth is `faithline.rewards`' affair.
"""
