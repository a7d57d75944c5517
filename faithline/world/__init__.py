"""The evidence world: invented entities, facts about them, prose that states the facts, and questions over the prose.

Everything is a pure function of a seed. Layers, lower ones first: `schema` and `vocabulary` (what can be said and how),
`facts` with `region` and `clinic` (what is true), `prose` and `library` (what is stated where), `questions`,
`comparisons` and `items` (what is asked, over which passages), `claims`, `truthful` and `responses` (what is said true
and false), `formats` (the public data sets' files). `world.World` makes any part on demand.
"""
