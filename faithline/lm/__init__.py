"""Language models on local folders: loading, chat prompts, generation, embedding."""
