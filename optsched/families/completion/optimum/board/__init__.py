"""The state of a search: how jobs run on single servers over time, and how one more is put in."""
