"""The scikit-learn face: an estimator that learns from texts and label sets, without files."""

from seq2set.estimator.classifier import Seq2SetClassifier
from seq2set.estimator.inputs import EstimatorInputError

__all__ = ["EstimatorInputError", "Seq2SetClassifier"]
