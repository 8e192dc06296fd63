//go:build !linux

package main

func play(role string) int { panic("no such role: " + role) }
