"""What a fit takes, and how: plans made without fitting, forecasts from pilots, rows in parts, stores on disk."""
