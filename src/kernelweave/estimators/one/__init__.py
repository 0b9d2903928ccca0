"""Estimators with one kernel."""
