"""What users hand in, checked: rows, targets and parameters; equal rows, rows without overlap, indefinite matrices."""
