// Package aurorasim is a simulated Aurora PostgreSQL cluster.
package aurorasim
