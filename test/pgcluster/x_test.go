package pgcluster
import ("testing";"time")
func TestX(t *testing.T){
 t0:=time.Now()
 c := &Cluster{t: t, options: Options{Nodes: []string{"a","b","c"}}}
 c.check(c.open()); t.Log("open",time.Since(t0)); t0=time.Now()
 c.check(c.startAll()); t.Log("start",time.Since(t0)); t0=time.Now()
 c.check(c.populate()); t.Log("populate",time.Since(t0)); t0=time.Now()
 c.Promote("b"); t.Log("promote",time.Since(t0)); t0=time.Now()
 c.Rejoin("a"); t.Log("rejoin",time.Since(t0)); t0=time.Now()
 t.Cleanup(func(){t.Log("stop",time.Since(t0)); t0=time.Now()})
}
