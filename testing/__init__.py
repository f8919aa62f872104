"""What tests, benchmarks and fault runs share: real servers, real databases, faults on demand, and patience."""
