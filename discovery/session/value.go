package session

import "fmt"

// Bool reads a boolean or an on/off setting in text format.
func Bool(text []byte, into *bool) error {
	switch string(text) {
	case "t", "true", "on":
		*into = true
	case "f", "false", "off":
		*into = false
	default:
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}
