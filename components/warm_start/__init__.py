"""Stage warm_start: supervised LoRA warm start of the roles, one adapter per group of them."""
