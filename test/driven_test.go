package test

import (
	"testing"

	"github.com/poolwright/poolwright/test/driver"
)

func TestMain(m *testing.M) { driver.Main(m) }
