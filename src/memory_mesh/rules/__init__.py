"""Pure decisions: no clock, random, files, network or threads. Enforced by an import contract."""
