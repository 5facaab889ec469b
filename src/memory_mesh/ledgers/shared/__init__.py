"""What ledgers in SQL share: statements over tables that each of them has, and their rows."""
