"""The paper's tables and figures: cells that are trained once, and pages that are built from them."""
