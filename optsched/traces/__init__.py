"""Readers of real trace formats: files in, tables out."""
