"""Positioned k-mers: linadd through prefix tables, sorted rows and stores."""
