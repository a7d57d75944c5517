"""Stage warm_start: supervised LoRA warm start of the grounded-answer role."""
