#!/usr/bin/env python3
"""grpc_server: a server of gRPC over TLS whose one method sends what it gets back.

usage: grpc_server.py ADDRESS CERTIFICATE KEY"""
import concurrent.futures
import pathlib
import sys

import grpc

server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
echo = grpc.unary_unary_rpc_method_handler(lambda request, _: request)
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", {"Say": echo}),))
certificate, key = (pathlib.Path(name).read_bytes() for name in sys.argv[2:4])
server.add_secure_port(f"{sys.argv[1]}:443", grpc.ssl_server_credentials([(key, certificate)]))
server.start()
print("ready", flush=True)
server.wait_for_termination()
