"""Operations that make machines from machines."""
