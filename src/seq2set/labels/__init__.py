"""Label sets: order, metrics, decision rules, thresholds, calibration."""
