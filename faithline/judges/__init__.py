"""Judges of answers: published protocols as pure functions, and who answers their prompts.

`faithjudge`, `facts` and `contextual` build prompts, parse verdicts and count; `endpoint`, `local` and `nli` judge;
`asking` goes through a cache, so that every verdict can be replayed. A judge that fails is counted and never read as a
verdict.
"""
