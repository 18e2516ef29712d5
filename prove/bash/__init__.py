"""Random commands for real bash in a jail, beside what was said of them: for proofs and tests. Refuses to run any outside."""
