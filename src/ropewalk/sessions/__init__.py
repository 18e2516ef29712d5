"""A session's life: what the CLI says becomes events, what people want becomes lines. Nothing is defined here."""
