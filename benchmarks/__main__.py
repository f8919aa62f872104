"""`make bench`: every measurement, one after the other."""

from benchmarks import accuracy, estimator, peer_particles, plan, server

estimator.main()
peer_particles.main()
server.main()
accuracy.main([])
plan.main([])
