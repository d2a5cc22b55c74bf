package availability
import ("testing";"os";"encoding/json";"time";"fmt";"strings")
func TestScratch(t *testing.T){
 raw,_:=os.ReadFile("/tmp/av/out.json")
 var rows [][]any
 if err:=json.Unmarshal(raw,&rows);err!=nil{t.Fatal(err)}
 zones:=map[string]*time.Location{"+05:30":time.FixedZone("+05:30",19800),"-03:30":time.FixedZone("-03:30",-12600)}
 unread:=map[string]string{}
 var order []string
 n,bad:=0,0
 for _,r:=range rows{
  z,m,e:=r[0].(string),r[1].(string),r[2].(string)
  loc:=zones[z]; if loc==nil{ l,err:=time.LoadLocation(z); if err!=nil{t.Fatal(err)}; loc=l; zones[z]=l}
  now,err:=time.Parse("2006-01-02T15:04:05",m); if err!=nil{t.Fatal(err)}
  got,ok:=modify(now.In(loc),e)
  g:="-"; if ok{g=fmt.Sprintf("%s %d",got.Format("2006-01-02 15:04"),got.Unix())}
  w:="-"; if r[3]!=nil{w=r[3].(string)}
  n++
  if g==w {continue}
  if g=="-"{ if _,y:=unread[e];!y{unread[e]=w;order=append(order,e)};continue}
  g2,w2:=g[:16],w; if len(w)>=16 {w2=w[:16]}
  k:="WALL"; if g2==w2{k="fold"}
  bad++
  fmt.Println(k,z,now.In(loc).Format("2006-01-02 15:04:05 -0700"),"|",e,"| php",w,"| go",g)
 }
 fmt.Println(n,"compared",bad,"bad; unread:")
 for _,e:=range order{fmt.Printf("%q→%s; ",e,strings.Split(unread[e]," ")[0]+" "+strings.Split(unread[e]+" "," ")[1])}
 fmt.Println()
}
