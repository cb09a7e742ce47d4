"""What training minimises: tensors in, a scalar out; nothing here sees a model."""
