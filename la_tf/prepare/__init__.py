"""Data sets made from archives and packages, where their usual host is out of reach."""
