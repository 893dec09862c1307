"""The gRPC binding."""
