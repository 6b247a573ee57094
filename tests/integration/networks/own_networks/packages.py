# SPDX-License-Identifier: Apache-2.0
"""The networks of mlp.py, with packages that contain gRPC, protobuf and BLAS. Each
package is used in the worker's process."""
import tempfile
from concurrent import futures

import grpc
import mlp
import numpy
from tensorboard.compat.proto import summary_pb2
from torch.utils.tensorboard import SummaryWriter


def echo():
    """Makes a call over a channel of Python's gRPC."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
        "test.Echo", {"Say": grpc.unary_unary_rpc_method_handler(
            lambda request, context: request)}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        said = channel.unary_unary("/test.Echo/Say")(b"hello", timeout=60)
    server.stop(None).wait()
    return said


def use_packages():
    assert echo() == b"hello"
    value = summary_pb2.Summary.Value(tag="loss", simple_value=0.5)
    text = summary_pb2.Summary(value=[value]).SerializeToString()
    assert summary_pb2.Summary.FromString(text).value[0].simple_value == 0.5
    with tempfile.TemporaryDirectory() as folder, \
            SummaryWriter(folder) as writer:
        writer.add_scalar("loss", 0.5, 1)
    assert numpy.allclose(numpy.linalg.inv(2 * numpy.eye(64)),
                          numpy.eye(64) / 2)


class Generator(mlp.Generator):
    def __init__(self):
        super().__init__()
        use_packages()

    def forward(self, noise):
        assert numpy.eye(3).sum() == 3
        return super().forward(noise)


class Discriminator(mlp.Discriminator):
    def __init__(self):
        super().__init__()
        use_packages()
