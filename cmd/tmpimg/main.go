package main
import ("context";"fmt";"os";"service-dataplane/internal/nodeimage";"service-dataplane/internal/progress")
func main(){ i,err:=nodeimage.Resolve(context.Background(),"source",".",progress.New(os.Stderr,false)); fmt.Printf("%+v %v\n",i,err)}
