"""Networks: attention, encoder, decoder, and the searches over a decoder."""
