"""Restricted master problems of column generation."""
