"""Drawings as SVG, written here: axes, curves, bars, histograms, logos, lattices."""
