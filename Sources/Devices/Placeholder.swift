// Room for what README.md names.
