"""Networks as ONNX graphs, made from saved weights: nothing here imports torch."""
