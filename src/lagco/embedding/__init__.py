"""Features from declared attributes, the graph auto-encoder, its pre-training, and texts.

Importing this package does not import torch; training and stacks other than the default one do.
"""

from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.embedding.embedder import Embedder, FeatureMatrices
from lagco.embedding.encoder import Encoder
from lagco.embedding.features.layout import AttributeLayout, TableLayout, ViewLayout
from lagco.embedding.pretraining.pretrain import pretrain, pretrain_on, problem_environments
from lagco.embedding.pretraining.report import HeadScore, reconstruction_report, report_table
from lagco.embedding.storage import EncoderFileError
from lagco.embedding.text.extractor import supply_vectors, text_encoder, use_text_encoder

__all__ = [
    "AttributeLayout",
    "Embedder",
    "Encoder",
    "EncoderConfig",
    "EncoderFileError",
    "FeatureMatrices",
    "HeadScore",
    "PretrainConfig",
    "TableLayout",
    "ViewLayout",
    "pretrain",
    "pretrain_on",
    "problem_environments",
    "reconstruction_report",
    "report_table",
    "supply_vectors",
    "text_encoder",
    "use_text_encoder",
]
